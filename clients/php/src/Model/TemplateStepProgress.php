<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A step of a build. */
final class TemplateStepProgress
{
    /**
     * @param string $name Its number from 1; `base` for a step that fetches an image.
     * @param string $title Its type, and the first line of what it does.
     * @param int|null $line In the Dockerfile.
     * @param bool $cached Whether it was taken from an earlier build.
     * @param float|null $seconds How long it took, or has run so far. Null before it begins, and for a step that was
     *   cut short.
     */
    public function __construct(
        public readonly string $name,
        public readonly string $title,
        public readonly ?int $line,
        public readonly TemplateStepProgressState $state,
        public readonly bool $cached,
        public readonly ?float $seconds,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            name: $fields->string('name'),
            title: $fields->string('title'),
            line: $fields->intOrNull('line'),
            state: $fields->enum('state', TemplateStepProgressState::class),
            cached: $fields->bool('cached'),
            seconds: $fields->floatOrNull('seconds'),
        );
    }
}
