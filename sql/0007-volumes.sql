-- volumes
DO 0;
