"""What a program needs whatever it computes: chunks of rows, threads, files, progress, extras."""
