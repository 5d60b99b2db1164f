"""The checker's parts: each module knows one thing. docs/CHAOS.md describes the whole."""
