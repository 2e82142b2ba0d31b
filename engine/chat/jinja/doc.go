// Package jinja renders the chat templates that ship with model checkpoints: the Jinja language as far as such templates
// use it, with Python's values (None apart from undefined, integers of any length, floats as repr writes them, strings
// indexed by code point, dictionaries in insertion order).
//
// A template is parsed once and may then be rendered by many goroutines. Templates and inputs come from outside: parsing
// and rendering never panic on them, and depth, steps and bytes are bounded (limits.go). Templates cannot change what
// they are given: mutating methods are refused, as in the sandbox that the reference implementation renders in.
package jinja
