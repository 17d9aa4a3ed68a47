"""What savers in databases share: programs of SQL statements, and the saver that gives them to something that runs them."""
