"""Fresh processes that run the code of the job: how they start, take orders, hang, and end."""
