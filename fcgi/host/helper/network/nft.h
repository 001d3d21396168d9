/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recognise the calls of incusd to nft that get another answer. */
#pragma once

enum nft_call {
    NFT_OTHER,
    NFT_TRY,  /* create table … *_test_*: incusd starts, and checks whether nftables is in use */
    NFT_LIST, /* --json -nn list ruleset */
};

/* Classify a call. words: the arguments after "nft", up to a NULL. */
enum nft_call nft_read(char *const words[]);
