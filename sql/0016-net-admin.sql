-- Whether instances of a template version may change their interfaces and routes: an operator's
-- choice at `sandlotctl template add`.
ALTER TABLE template_versions ADD COLUMN net_admin BOOL NOT NULL DEFAULT FALSE;

-- Why a network policy is not applied, for its owner; '' when nothing has failed.
ALTER TABLE sandboxes ADD COLUMN network_failure VARCHAR(500) NOT NULL DEFAULT '';
