// Package sampling chooses a token from a row of logits: mask, penalties, bias, temperature, min-p, top-k, top-p and one
// counter-based random number per token. It knows nothing of sequences or devices.
//
// The rule that bites: the choice depends on the logits, the parameters, the counts and the index of the token alone, so a
// seeded request gives the same tokens alone or in a batch, drafted or not, before or after a restart. The logits are never
// written to.
package sampling
