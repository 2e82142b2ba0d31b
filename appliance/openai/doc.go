// Package openai translates between the OpenAI chat completions protocol and the engine: a request body becomes an
// engine.Request, engine events become chunks of a stream or one complete answer, refusals become error bodies. It does
// no HTTP and keeps no state between requests. Values that reach the prompt (tool objects, argument texts) keep their
// bytes: order, numbers and escapes as the client sent them.
package openai
