<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Copies of paused sandboxes and of checkpoints off the hosts; missing where there is no archive. */
final class DeploymentArchive
{
    /**
     * @param int $copies Number of copies.
     * @param int $sandboxes Of these, paused sandboxes.
     * @param int $checkpoints Of these, checkpoints.
     * @param int $bytes Their size in the archive.
     * @param \DateTimeImmutable|null $newest When the newest copy was whole.
     * @param int $storing Copies in hand, or waiting for their turn.
     * @param int $failing Of these, that have failed before.
     * @param int $behind Paused sandboxes and checkpoints that should have a copy and have none.
     * @param \DateTimeImmutable|null $behindSince Time at which the first of these should have got one.
     * @param int $evicted Of these sandboxes, those that their hosts have nothing of.
     */
    public function __construct(
        public readonly string $url,
        public readonly int $copies,
        public readonly int $sandboxes,
        public readonly int $checkpoints,
        public readonly int $bytes,
        public readonly ?\DateTimeImmutable $newest,
        public readonly int $storing,
        public readonly int $failing,
        public readonly int $removing,
        public readonly int $behind,
        public readonly ?\DateTimeImmutable $behindSince,
        public readonly string $lastError,
        public readonly int $evicted,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            url: $fields->string('url'),
            copies: $fields->int('copies'),
            sandboxes: $fields->int('sandboxes'),
            checkpoints: $fields->int('checkpoints'),
            bytes: $fields->int('bytes'),
            newest: $fields->timeOrNull('newest'),
            storing: $fields->int('storing'),
            failing: $fields->int('failing'),
            removing: $fields->int('removing'),
            behind: $fields->int('behind'),
            behindSince: $fields->timeOrNull('behind_since'),
            lastError: $fields->string('last_error'),
            evicted: $fields->int('evicted'),
        );
    }
}
