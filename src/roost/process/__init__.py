"""Process: macros over streams, the windows they read, the engines that run them, and roles."""
