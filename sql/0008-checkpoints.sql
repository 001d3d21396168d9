-- checkpoints and template builds
DO 0;
