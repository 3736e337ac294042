"""Workers: what answers requests on one device each, in the process that asks or in one of its own."""
