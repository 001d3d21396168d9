-- Where a runtime host that is another machine than the one that asks has its relay: agents, keepers and
-- the firewall there are reached through it. NULL: directly.
ALTER TABLE hosts
    ADD COLUMN relay_url VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NULL;
