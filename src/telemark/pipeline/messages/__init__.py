"""What grows with the messages: passes over rows by Spark. What leaves here is counted, and small or still in Spark."""
