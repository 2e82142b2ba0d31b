// Package appliance is the box around the engine: configuration, the HTTP endpoint, start and stop. It declares the
// interfaces it wants of the engine; it knows nothing of tensors.
//
// The rule that bites: fasthttp owns every string and byte slice of a request until its handler returns, and a stream's
// writer runs after that. What a stream needs is copied first, and only the connection outlives the handler.
package appliance
