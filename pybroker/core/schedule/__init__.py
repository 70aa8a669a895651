"""Messages that wait for their time, of the exchanges of type x-delayed-message."""
