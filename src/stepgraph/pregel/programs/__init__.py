"""Work that takes several requests to a saver, each written once as a generator and run by a sync or async trampoline."""
