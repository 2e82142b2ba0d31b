package chat

// Limits of one request's text. Numbers of messages and bytes of a body are bounded before they get here.
const (
	maxJSONDepth = 64 // of tools, arguments and template variables: the deepest schema that is accepted
)
