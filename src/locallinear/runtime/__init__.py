"""What a program needs, whatever it computes: chunks, threads, files, progress, extras."""
