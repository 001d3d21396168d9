-- What a pause at the deadline keeps; and whether the move in flight goes without the memory.
ALTER TABLE sandboxes ADD COLUMN pause_memory BOOL NOT NULL DEFAULT TRUE;
ALTER TABLE sandboxes ADD COLUMN memory_left BOOL NOT NULL DEFAULT FALSE;
