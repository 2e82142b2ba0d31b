package chat

// stopMatcher finds the first place where one of several texts is complete, in a text that arrives in any pieces. Of two
// that are complete at the same byte the longer counts. It is the Knuth-Morris-Pratt automaton of each.
type stopMatcher struct {
	texts  []string
	fail   [][]int // fail[k][i]: length of the longest proper border of texts[k][:i]
	state  []int   // bytes of texts[k] that the end of the text so far has matched
	first  [256]bool
	active bool // some state is not 0
}

func newStopMatcher(texts []string) *stopMatcher {
	m := &stopMatcher{}
	for _, t := range texts {
		if t == "" {
			continue
		}
		fail := make([]int, len(t)+1)
		for i, k := 1, 0; i < len(t); i++ {
			for k > 0 && t[i] != t[k] {
				k = fail[k]
			}
			if t[i] == t[k] {
				k++
			}
			fail[i+1] = k
		}
		m.texts, m.fail, m.state = append(m.texts, t), append(m.fail, fail), append(m.state, 0)
		m.first[t[0]] = true
	}
	return m
}

// feed advances over text and returns how many of its bytes the first match ends after, and the match's length; 0, 0 if
// there is none.
func (m *stopMatcher) feed(text []byte) (end, length int) {
	if len(m.texts) == 0 {
		return 0, 0
	}
	for i, c := range text {
		if !m.active && !m.first[c] {
			continue
		}
		m.active = false
		for k, t := range m.texts {
			s := m.state[k]
			for s > 0 && t[s] != c {
				s = m.fail[k][s]
			}
			if t[s] == c {
				s++
			}
			if s == len(t) {
				length = max(length, s)
				s = m.fail[k][s]
			}
			m.state[k] = s
			m.active = m.active || s > 0
		}
		if length > 0 {
			return i + 1, length
		}
	}
	return 0, 0
}

// held is how many bytes at the end of the text may still become part of a match.
func (m *stopMatcher) held() int {
	h := 0
	for _, s := range m.state {
		h = max(h, s)
	}
	return h
}

// reset forgets the text so far.
func (m *stopMatcher) reset() {
	clear(m.state)
	m.active = false
}
