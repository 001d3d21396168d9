-- When the copy on its own host was removed of what is in the archive; NULL: it is there.
ALTER TABLE archives
    ADD COLUMN evicted_at_ms BIGINT NULL,
    ADD KEY archives_evicted (evicted_at_ms);
