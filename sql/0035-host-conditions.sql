-- What a host's monitor says of it. silent: its Incus does not answer; down: its relay does not either.
-- lost: the operator says that it will not come back.
ALTER TABLE hosts
    ADD COLUMN silent_since_ms BIGINT NULL,
    ADD COLUMN down_since_ms BIGINT NULL,
    ADD COLUMN lost_at_ms BIGINT NULL;

-- An address is one sandbox's in the whole deployment, whichever host it is on.
ALTER TABLE host_addresses
    ADD UNIQUE KEY host_addresses_address (address);
