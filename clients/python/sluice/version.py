"""Written by clients/generate.ts from openapi.json. Do not edit."""

version = "0.1.0"
