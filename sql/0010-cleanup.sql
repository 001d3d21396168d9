-- clean-up of what lies too long
DO 0;
