"""The parts of Scripts/demo.py: each module knows one thing, and the demo tells the story with them."""
