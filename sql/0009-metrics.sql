-- samples of sandboxes
DO 0;
