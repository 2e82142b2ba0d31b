package jinja

// Limits of one template and one rendering. They are far above what published chat templates need and exist so that a
// damaged or hostile template ends with an error.
const (
	maxSourceBytes = 256 << 10 // published templates are below 32 KiB; also bounds the length of operator chains
	maxParseDepth  = 100       // nesting of expressions and of blocks
	maxCallDepth   = 64        // macros calling macros
	maxRange       = 100_000   // length of range(), as in the reference sandbox
	maxTextBytes   = 128 << 20 // longest string a rendering may build: four times the largest request body
	maxSteps       = 20 << 20  // loop turns and calls, plus one per bytesPerStep bytes copied: two seconds or so
	bytesPerStep   = 32
	maxStripBytes  = 1 << 10  // of strip's characters, each of which is looked for in turn
	maxValueDepth  = 500      // of a value that is printed or compared; what requests carry is far below
	maxValueNodes  = 16 << 20 // lists, dictionaries and scalars visited in doing so: a body of the largest size has fewer
)
