"""What a hosted instance has around the app: who is answered, what browsers may do, where uploads go."""
