package chat

import (
	"strings"

	"hearth/engine/chat/jinja"
)

// appendValue appends the JSON of a parameter's text, read as the first of the allowed types that fits. What fits none
// is the text itself, as a string; a number is never guessed.
func appendValue(out []byte, text string, allowed typeSet) []byte {
	trimmed := strings.Trim(text, asciiSpace)
	orText := allowed&typeString != 0
	switch lower := strings.ToLower(trimmed); {
	case lower == "null" && (allowed&typeNull != 0 || !orText), trimmed == "None" && !orText:
		return append(out, "null"...)
	case allowed&typeBoolean != 0 && (lower == "true" || lower == "false"):
		return append(out, lower...)
	}
	if allowed&typeInteger != 0 {
		if s, ok := integerLiteral(trimmed); ok {
			return append(out, s...)
		}
	}
	if allowed&typeNumber != 0 {
		if s, ok := numberLiteral(trimmed); ok {
			return append(out, s...)
		}
	}
	tuple := strings.HasPrefix(trimmed, "(") && !orText
	if allowed&typeArray != 0 && (strings.HasPrefix(trimmed, "[") || tuple) || allowed&typeObject != 0 && strings.HasPrefix(trimmed, "{") {
		if _, err := jinja.ParseJSON([]byte(trimmed), maxJSONDepth); err == nil {
			return append(out, trimmed...)
		}
		if converted, ok := pythonLiteral(trimmed); ok {
			return append(out, converted...)
		}
	}
	return append(jinja.AppendJSONText(append(out, '"'), text), '"')
}

const asciiSpace = " \t\n\r\v\f"

func digitCount(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// integerLiteral spells an integer as JSON: all digits kept, a plus sign and a fraction of zeros dropped. Leading zeros
// are no integer: they may mean a code or an octal mode.
func integerLiteral(s string) (string, bool) {
	sign, digits := signOf(s)
	n := digitCount(digits)
	if n == 0 || n > 1 && digits[0] == '0' {
		return "", false
	}
	if fraction, ok := strings.CutPrefix(digits[n:], "."); ok && strings.Trim(fraction, "0") == "" {
		return sign + digits[:n], true
	}
	return sign + digits, n == len(digits)
}

func signOf(s string) (sign, rest string) {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return "-", rest
	}
	return "", strings.TrimPrefix(s, "+")
}

// numberLiteral spells a number as JSON: digits kept, a zero put where JSON wants a digit, a plus sign dropped.
func numberLiteral(s string) (string, bool) {
	sign, rest := signOf(s)
	n := digitCount(rest)
	if n > 1 && rest[0] == '0' {
		return "", false
	}
	whole, fraction := rest[:n], ""
	rest = rest[n:]
	if strings.HasPrefix(rest, ".") {
		f := digitCount(rest[1:])
		if n+f == 0 {
			return "", false
		}
		fraction = "." + rest[1:1+f]
		if f == 0 {
			fraction = ".0"
		}
		rest = rest[1+f:]
	} else if n == 0 {
		return "", false
	}
	if whole == "" {
		whole = "0"
	}
	if rest != "" {
		if rest[0] != 'e' && rest[0] != 'E' {
			return "", false
		}
		exponent := strings.TrimPrefix(strings.TrimPrefix(rest[1:], "+"), "-")
		if len(rest)-1-len(exponent) > 1 || exponent == "" || digitCount(exponent) != len(exponent) {
			return "", false
		}
	}
	return sign + whole + fraction + rest, true
}
