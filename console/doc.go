// Package console shows the appliance to people: pages, their view models and their static files. What it shows comes
// through the interface Source; it knows neither the engine nor the HTTP API behind the page's script.
package console
