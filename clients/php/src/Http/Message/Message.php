<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http\Message;

use Psr\Http\Message\MessageInterface;
use Psr\Http\Message\StreamInterface;

/**
 * What requests and responses have in common. Parameters have no types here and in the classes below,
 * so that they fit psr/http-message 1 and 2.
 *
 * @internal
 */
abstract class Message implements MessageInterface
{
    /** @var array<string, array{string, list<string>}> by the name in small letters: the name as given, and its values */
    private array $headers = [];

    private string $version = '1.1';

    /** @param array<string, string|list<string>> $headers */
    public function __construct(array $headers, private StreamInterface $body)
    {
        foreach ($headers as $name => $value) {
            $this->headers[strtolower((string) $name)] = [(string) $name, array_values((array) $value)];
        }
    }

    public function getProtocolVersion(): string
    {
        return $this->version;
    }

    public function withProtocolVersion($version): static
    {
        $copy = clone $this;
        $copy->version = $version;
        return $copy;
    }

    /** @return array<string, list<string>> */
    public function getHeaders(): array
    {
        return array_column($this->headers, 1, 0);
    }

    public function hasHeader($name): bool
    {
        return isset($this->headers[strtolower($name)]);
    }

    /** @return list<string> */
    public function getHeader($name): array
    {
        return $this->headers[strtolower($name)][1] ?? [];
    }

    public function getHeaderLine($name): string
    {
        return implode(', ', $this->getHeader($name));
    }

    public function withHeader($name, $value): static
    {
        $values = array_map(strval(...), array_values((array) $value));
        foreach ([$name, ...$values] as $text) {
            if (preg_match('/[\r\n\0]/', $text)) {
                throw new \InvalidArgumentException("The header {$name} has a line break in it.");
            }
        }
        $copy = clone $this;
        $copy->headers[strtolower($name)] = [$name, $values];
        return $copy;
    }

    public function withAddedHeader($name, $value): static
    {
        return $this->withHeader($name, [...$this->getHeader($name), ...array_values((array) $value)]);
    }

    public function withoutHeader($name): static
    {
        $copy = clone $this;
        unset($copy->headers[strtolower($name)]);
        return $copy;
    }

    public function getBody(): StreamInterface
    {
        return $this->body;
    }

    public function withBody(StreamInterface $body): static
    {
        $copy = clone $this;
        $copy->body = $body;
        return $copy;
    }
}
