package openai

const (
	// MaxBodyBytes bounds a request body after decompression. The longest context in use (262,144 tokens) is about one
	// MiB of text, several with escapes; the rest is room for large schemas.
	MaxBodyBytes = 32 << 20

	// maxMessages bounds messages of a request; recorded agent conversations hold about 120.
	maxMessages = 10_000
	// maxParts bounds content parts of one message.
	maxParts = 4096
	// maxCalls bounds tool calls of one message.
	maxCalls = 512
	// maxTools bounds declared tools; large agent set-ups declare about 150.
	maxTools = 512
	// maxMembers bounds the members of one object that this package looks into.
	maxMembers = 2048
	// maxSchemaDepth bounds nesting inside a tool's parameters.
	maxSchemaDepth = 64
	// maxDepth bounds nesting of a whole body: a schema at its limit, inside tools[].function.parameters, with slack.
	maxDepth = 96
	// maxNameBytes bounds names that are copied into the prompt or into logs.
	maxNameBytes = 512
	// maxEchoBytes bounds what an error message repeats of a short value from the request.
	maxEchoBytes = 64
)
