//go:build !amd64 && !arm64

package kernels

// Without assembly the level is always Generic, and the dispatchers never get here.

const noKernels = "kernels: no assembly for this CPU"

func tilePanels() int  { panic(noKernels) }
func maxTileRows() int { panic(noKernels) }

func multiplyTile(*tileWork) { panic(noKernels) }

func multiplyRow(DenseFormat, []float32, []float32, []byte, int, []float32) { panic(noKernels) }

func widenPanel(DenseFormat, []float32, []byte, int) { panic(noKernels) }
