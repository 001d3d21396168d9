<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Http;

use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\RequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\StreamInterface;
use Sandlot\Client;
use Sandlot\Http\Message\ResourceStream;

/**
 * Makes requests with the factories that the program brought.
 *
 * @internal
 */
final class Requests
{
    public function __construct(
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $bodies,
    ) {
    }

    /**
     * @param array<string, string|int|bool|list<string>|null> $query what is null is left out
     * @param array<string, string|null> $headers the same
     */
    public function make(
        string $method,
        string $url,
        array $query,
        array $headers,
        ?StreamInterface $body,
    ): RequestInterface {
        $request = $this->requests->createRequest($method, $url . self::query($query))
            ->withHeader('User-Agent', 'sandlot-php/' . Client::VERSION);
        foreach (array_filter($headers, is_string(...)) as $name => $value) {
            $request = $request->withHeader($name, $value);
        }
        return $body === null ? $request : $request->withBody($body);
    }

    public function json(mixed $value): StreamInterface
    {
        try {
            $text = json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES);
        } catch (\JsonException $failure) {
            $why = $failure->getMessage();
            throw new \InvalidArgumentException("What is to be sent cannot be JSON: {$why}.", 0, $failure);
        }
        return $this->bodies->createStream($text);
    }

    /** @param mixed $content a string, a resource or a StreamInterface; other types throw */
    public function body(mixed $content): StreamInterface
    {
        return match (true) {
            $content instanceof StreamInterface => $content,
            is_string($content) => $this->bodies->createStream($content),
            // Streams of other packages take a pipe for an empty file.
            is_resource($content) => new ResourceStream($content),
            default => throw new \InvalidArgumentException('A content is a string, a stream of PHP or of PSR-7.'),
        };
    }

    /** @param array<string, string|int|bool|list<string>|null> $query */
    private static function query(array $query): string
    {
        $pairs = [];
        foreach ($query as $name => $values) {
            foreach (is_array($values) ? $values : [$values] as $value) {
                if ($value !== null) {
                    $text = is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
                    $pairs[] = rawurlencode((string) $name) . '=' . rawurlencode($text);
                }
            }
        }
        return $pairs === [] ? '' : '?' . implode('&', $pairs);
    }
}
