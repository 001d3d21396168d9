-- network policy: profiles, revisions, denials
DO 0;
