"""Parts of Scripts/demo.py; each module covers one subject, and demo.py plays the scenes."""
