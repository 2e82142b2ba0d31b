package persist

import (
	"encoding/binary"
	"time"
)

// dailyBudget counts bytes written on one day (UTC), since flash wears out. It is stored with every write transaction. A clock that
// goes back by up to a day keeps counting; one that was far off, as on a board without a battery, begins a new day.
type dailyBudget struct {
	day     int64 // days since 1970
	written int64
}

func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

// roll begins a new day if there is one.
func (d *dailyBudget) roll(now time.Time) {
	if today := dayOf(now); today > d.day || today < d.day-1 {
		*d = dailyBudget{day: today}
	}
}

func (d dailyBudget) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(d.day))
	return binary.BigEndian.AppendUint64(b, uint64(d.written))
}

func decodeDaily(b []byte) (d dailyBudget, ok bool) {
	if len(b) != 16 {
		return d, false
	}
	d = dailyBudget{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}
	return d, d.written >= 0
}
