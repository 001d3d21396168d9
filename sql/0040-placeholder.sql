-- of somebody else
DO 0;
