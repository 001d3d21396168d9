<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A name that points to a version of a template. */
final class TemplateTag
{
    public function __construct(
        public readonly string $tag,
        public readonly int $version,
        public readonly string $templateVersion,
        public readonly \DateTimeImmutable $assignedAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            tag: $fields->string('tag'),
            version: $fields->int('version'),
            templateVersion: $fields->string('template_version'),
            assignedAt: $fields->time('assigned_at'),
        );
    }
}
