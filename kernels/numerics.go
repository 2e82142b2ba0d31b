package kernels

// NumericsVersion names the bits that the references compute. Raise it with any change that moves them: caches of other
// versions are then never read, and the pinned checksum of the demo model's logits must be renewed.
const NumericsVersion = 1
