/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of incusd's calls of nft are answered otherwise. */
#pragma once

enum nft_call {
    NFT_OTHER,
    NFT_TRY,  /* create table … *_test_*: incusd begins, and looks whether nftables is in use */
    NFT_LIST, /* --json -nn list ruleset */
};

/* words: what follows "nft", up to a NULL. */
enum nft_call nft_read(char *const words[]);
