-- The exposed ports of a sandbox stand in its row, by number: "3000/1,3001/0" (1: public). They are
-- few, always read and written with it, and never looked for by themselves.
ALTER TABLE sandboxes ADD COLUMN ports VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin
    NOT NULL DEFAULT '' AFTER all_ports;
UPDATE sandboxes s JOIN (
    SELECT sandbox_id, GROUP_CONCAT(CONCAT(port, '/', public) ORDER BY port) AS ports
    FROM exposed_ports GROUP BY sandbox_id
) p ON p.sandbox_id = s.id SET s.ports = p.ports;
DROP TABLE exposed_ports;
