// Package engine loads a checkpoint and answers conversations with it: prompt, sequences, sampling, scheduling and parsing
// of what the model says. It knows no HTTP, no files of the store and no power modes.
package engine
