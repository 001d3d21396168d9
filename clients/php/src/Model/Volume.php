<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Volume
{
    /**
     * @param int $sizeGb GiB; writing past it fails with “Disk quota exceeded”.
     * @param list<string> $attachedTo Sandboxes that mount it, stopped ones included.
     * @param list<string> $attachedNames The names of the same sandboxes in the same order; the id of one without a
     *   name.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $team,
        public readonly string $name,
        public readonly int $sizeGb,
        public readonly \DateTimeImmutable $createdAt,
        public readonly array $attachedTo,
        public readonly array $attachedNames,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            team: $fields->string('team'),
            name: $fields->string('name'),
            sizeGb: $fields->int('size_gb'),
            createdAt: $fields->time('created_at'),
            attachedTo: $fields->strings('attached_to'),
            attachedNames: $fields->strings('attached_names'),
        );
    }
}
