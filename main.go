// Command hearth serves Qwen3.5 and Qwen3.6 models to coding agents over an OpenAI-compatible endpoint.
package main

import "hearth/appliance/command"

// version is set by the linker.
var version = "dev"

func main() { command.Main(version) }
