package chat

// Limits of one request's text. Numbers of messages and bytes of a body are bounded before they get here.
const (
	maxJSONDepth = 64               // of schemas, arguments and values: the deepest schema that is accepted
	maxToolDepth = maxJSONDepth + 2 // of a declared tool: its schema lies in an object in an object

	// Longest name of a function or a parameter that the scanner takes for one before it has begun a call: bounds what is
	// held back, and rescanned when it was none. Declared names are at most 64 bytes long.
	maxNameBytes = 256

	// Schemas, entries of their lists and parts of their references visited to find the types of one parameter, so that
	// references in a circle end, and a thousand to one list of a hundred thousand entries take no time.
	maxSchemaSteps = 10_000
)
