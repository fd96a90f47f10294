// Written by clients/generate.ts from openapi.json. Do not edit.

package sluice

// Version is that of the platform whose API this client speaks.
const Version = "0.1.0"
