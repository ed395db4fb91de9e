"""What ran: torch and the port, on the same weights and inputs."""
