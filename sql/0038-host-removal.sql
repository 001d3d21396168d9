-- What has ended stays for a while when its host is forgotten.
ALTER TABLE sandboxes DROP FOREIGN KEY sandboxes_host;
ALTER TABLE checkpoints DROP FOREIGN KEY checkpoints_host;
ALTER TABLE volumes DROP FOREIGN KEY volumes_host;
