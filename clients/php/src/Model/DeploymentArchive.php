<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Copies of paused sandboxes off the hosts; missing where there is no archive. */
final class DeploymentArchive
{
    /**
     * @param int $copies Sandboxes that are in it.
     * @param int $bytes What they take there.
     * @param \DateTimeImmutable|null $newest When the newest copy was whole.
     * @param int $storing Copies in hand, or waiting for their turn.
     * @param int $failing Of these, that have failed before.
     * @param int $behind Sandboxes that are paused for longer than they should be without a copy.
     * @param \DateTimeImmutable|null $behindSince Since when the first of them should have one.
     */
    public function __construct(
        public readonly string $url,
        public readonly int $copies,
        public readonly int $bytes,
        public readonly ?\DateTimeImmutable $newest,
        public readonly int $storing,
        public readonly int $failing,
        public readonly int $removing,
        public readonly int $behind,
        public readonly ?\DateTimeImmutable $behindSince,
        public readonly string $lastError,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            url: $fields->string('url'),
            copies: $fields->int('copies'),
            bytes: $fields->int('bytes'),
            newest: $fields->timeOrNull('newest'),
            storing: $fields->int('storing'),
            failing: $fields->int('failing'),
            removing: $fields->int('removing'),
            behind: $fields->int('behind'),
            behindSince: $fields->timeOrNull('behind_since'),
            lastError: $fields->string('last_error'),
        );
    }
}
